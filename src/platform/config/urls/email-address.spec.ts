import { addressKey, domainKey } from './email-address.js';

describe('the key of an e-mail address', () => {
  it.each([
    ['Ada@Corp.Example', 'ada@corp.EXAMPLE'],
    ['jörg@corp.example', 'JÖRG@corp.example'],
    ['jo\u0308rg@corp.example', 'Jörg@corp.example'],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['ada@BÜCHER.example', 'ada@XN--BCHER-KVA.example'],
    ['ada@bu\u0308cher.example', 'ada@bücher.example'],
    ['ada@hr.bücher.рф', 'ada@hr.xn--bcher-kva.xn--p1ai'],
    ['ada@straße.example', 'ada@xn--strae-oqa.example'],
    ['ada@日本語.example', 'ada@xn--wgv71a119e.example'],
    ['ada@ΒΌΛΟΣ.example', 'ada@xn--nxasmq6b.example'],
  ])('is one for %j and %j', (one, other) => expect(addressKey(one)).toBe(addressKey(other)));

  it.each([
    ['mark@corp.example', 'mar\u212a@corp.example'], // Kelvin
    ['sam@corp.example', '\u017fam@corp.example'], // long s
    ['istanbul@corp.example', 'ıstanbul@corp.example'],
    ['istanbul@corp.example', 'İstanbul@corp.example'],
    ['strasse@corp.example', 'straße@corp.example'],
    ['\u03c9@corp.example', '\u2126@corp.example'], // Ohm
    ['ada@corp.example', 'ａｄａ@corp.example'],
    ['ada@korp.example', 'ada@\u212aorp.example'],
    ['ada@strasse.example', 'ada@straße.example'],
    ['ada@corp.example', 'ada@ｃorp.example'],
    ['ada@corp.example', 'ada@co\u00adrp.example'], // soft hyphen
    ['ada@corp.example', 'ada@co\u200brp.example'], // no width
    ['ada@corp.example', 'ada@corp\u3002example'], // ideographic full stop
    ['ada@corp.example', 'ada@xn--corp-.example'],
    ['ada@xn--tda.example', 'ada@ü/x.example'],
    ['ada@xn--tda.x.example', 'ada@ü%2ex.example'],
    ['ada@1.0.0.2', 'ada@1.2'],
    ['ada@127.0.0.1', 'ada@0x7f.1'],
    ['ada@xn--a.example', 'ada@xn--b.example'], // no Punycode: the same empty text for Node.js
    ['ada@fi.example', 'ada@ﬁ.example'],
  ])('differs for %j and %j', (one, other) => expect(addressKey(one)).not.toBe(addressKey(other)));

  it.each([
    ['ada@', 'Ada@corp.example'],
    ['ada@büch', 'ada@xn--bcher-kva.example'],
    ['jö', 'JÖRG@corp.example'],
    ['ada@xn--', 'ada@xn--a.example'],
  ])('of %j begins that of %j', (prefix, address) =>
    expect(addressKey(address).startsWith(addressKey(prefix))).toBe(true),
  );

  it('of a domain is that in the address', () => {
    expect(addressKey('a@xn--bcher-kva.Example')).toBe(`a@${domainKey('BÜCHER.example')}`);
  });
});
