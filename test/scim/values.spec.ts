import { randomUUID } from 'node:crypto';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { useService } from '../support/use.js';

interface Entry {
  readonly value: string;
  readonly type?: string;
  readonly display?: string;
  readonly primary?: boolean;
}

/** Values of lists: one that is to be removed is gone, or the directory gets an error (RFC 7644 §3.5.2.2). */
describe('values of a list', () => {
  const { service } = useService(DIRECTORY_ENV);
  const directory = new DirectoryClient(service);

  const FIRST: Entry = { value: 'Main@x', type: 'work', display: 'Of work', primary: true };
  const SECOND: Entry = { value: 'other@x', type: 'home' };
  const make = async (list: string, entries: readonly Entry[] = [FIRST, SECOND]): Promise<string> =>
    directory.create('/Users', { userName: randomUUID(), [list]: entries });
  const read = async (id: string, list: string): Promise<Entry[]> => {
    const { body } = await directory.send('GET', `/Users/${id}`).expect(200);
    return (body as Record<string, Entry[] | undefined>)[list] ?? [];
  };

  describe.each(['emails', 'roles'])('%s', (list) => {
    it.each<[string, object]>([
      ['as it was sent', { op: 'Remove', path: list, value: [FIRST] }],
      ['with its value alone', { op: 'remove', path: list, value: [{ value: FIRST.value }] }],
      ['in another case', { op: 'remove', path: list, value: [{ value: 'MAIN@X', type: 'WORK' }] }],
      ['with another name for people', { op: 'remove', path: list, value: [{ ...FIRST, display: 'New' }] }],
      ['that says it is not primary', { op: 'remove', path: list, value: [{ ...FIRST, primary: 'False' }] }],
      [
        'with parts that are not kept',
        { op: 'remove', path: list, value: [{ value: 'Main@x', $ref: null }] },
      ],
      ['with names in capitals', { op: 'remove', path: list, value: { VALUE: 'Main@x' } }],
      ['as a text', { op: 'remove', path: list, value: 'main@x' }],
      ['as a list of texts', { op: 'Remove', path: list, value: ['Main@x', 'absent'] }],
      ['as JSON in a text', { op: 'Remove', path: list, value: '{"id":"1","value":"Main@x"}' }],
      ['as JSON in a value', { op: 'Remove', path: list, value: [{ value: '{"value":"Main@x"}' }] }],
      ['as a list of JSON in a text', { op: 'Remove', path: list, value: '[{"value":"Main@x"}]' }],
      ['by a filter', { op: 'remove', path: `${list}[value eq "Main@x"]` }],
      ['by a filter in another case', { op: 'remove', path: `${list.toUpperCase()}[VALUE EQ "MAIN@X"]` }],
      ['by a filter of its type', { op: 'remove', path: `${list}[type eq "WORK"]` }],
      ['by a filter of its name', { op: 'remove', path: `${list}[display co "of w"]` }],
      ['by a filter of a word for true', { op: 'remove', path: `${list}[primary eq "True"]` }],
      ['by a filter with JSON', { op: 'remove', path: `${list}[value eq "m\\u0061in@x"]` }],
      ['by a filter with not', { op: 'remove', path: `${list}[not (value eq "other@x")]` }],
      ['by a filter, with the value', { op: 'remove', path: `${list}[type eq "work"]`, value: ['main@x'] }],
      ['by its part', { op: 'remove', path: `${list}[type eq "work"].value` }],
      ['by the value of a part', { op: 'remove', path: `${list}.value`, value: 'MAIN@x' }],
    ])('one %s is removed, the other stays', async (_, operation) => {
      const id = await make(list);
      await directory.patch(`/Users/${id}`, operation).expect(200);
      expect(await read(id, list)).toEqual([SECOND]);
      await directory.patch(`/Users/${id}`, operation).expect(200); // a repeat changes nothing
    });

    it.each<[string, object, string]>([
      ['of another type', { op: 'remove', path: list, value: [{ ...FIRST, type: 'home' }] }, 'noTarget'],
      ['without a value', { op: 'remove', path: list, value: [{ type: 'work' }] }, 'invalidValue'],
      ['by a part that is not kept', { op: 'remove', path: `${list}[id eq "1"]` }, 'invalidFilter'],
      ['as a number that is none', { op: 'remove', path: list, value: [1.5] }, 'invalidValue'],
    ])('one %s is refused, and all stay', async (_, operation, scimType) => {
      const id = await make(list);
      const { body } = await directory.patch(`/Users/${id}`, operation).expect(400);
      expect(body).toMatchObject({ status: '400', scimType });
      expect(await read(id, list)).toEqual([FIRST, SECOND]);
    });

    it('of one value with two types, that type goes', async () => {
      const [work, home] = [
        { value: 'a@x', type: 'work' },
        { value: 'a@x', type: 'home' },
      ] as const;
      const id = await make(list, [work, home]);
      await directory.patch(`/Users/${id}`, { op: 'remove', path: list, value: [home] }).expect(200);
      expect(await read(id, list)).toEqual([work]);
    });

    it.each<[string, object]>([
      ['null', { op: 'remove', path: list, value: null }],
      ['no value', { op: 'remove', path: list }],
      ['a replacement by nothing', { op: 'replace', path: list, value: [] }],
    ])('%s: all go', async (_, operation) => {
      const id = await make(list);
      await directory.patch(`/Users/${id}`, operation).expect(200);
      expect(await read(id, list)).toEqual([]);
    });

    it('a part is changed, added with its entry, and removed', async () => {
      const id = await make(list);
      const path = `${list}[type eq "WORK"].display`;
      await directory.patch(`/Users/${id}`, { op: 'replace', path, value: 'Office' }).expect(200);
      await directory.patch(`/Users/${id}`, {
        op: 'add',
        path: `${list}[type eq "new" and display eq "New"].value`,
        value: 'new@x',
      });
      expect(await read(id, list)).toEqual([
        { ...FIRST, display: 'Office' },
        SECOND,
        { value: 'new@x', type: 'new', display: 'New' },
      ]);
      await directory.patch(`/Users/${id}`, { op: 'remove', path }).expect(200);
      expect((await read(id, list))[0]).toEqual({ value: 'Main@x', type: 'work', primary: true });
    });

    it('an entry that is there is not added again', async () => {
      const id = await make(list);
      const { body } = await directory.patch(`/Users/${id}`, {
        op: 'add',
        path: list,
        value: [SECOND, FIRST],
      });
      expect((body as Record<string, unknown>)[list]).toEqual([FIRST, SECOND]);
    });

    it('a part that becomes an empty text is removed', async () => {
      const id = await make(list);
      const path = `${list}[type eq "work"].display`;
      await directory.patch(`/Users/${id}`, { op: 'replace', path, value: '' }).expect(200);
      const { display: _, ...left } = FIRST;
      expect(await read(id, list)).toEqual([left, SECOND]);
    });

    it('an entry without a value is none', async () => {
      const { value: _, ...parts } = FIRST;
      const id = await make(list, [parts as Entry, SECOND]);
      expect(await read(id, list)).toEqual([SECOND]);
    });
  });

  it('operations that read millions of characters are refused, and change nothing', async () => {
    const entries = Array.from({ length: 60 }, (_, i) => ({ value: `${'x'.repeat(1000)}${i}` }));
    const id = await make('emails', entries);
    const added = Array.from({ length: 40 }, (_, i) => ({ op: 'add', path: 'emails', value: `${i}@x` }));
    const { body } = await directory.patch(`/Users/${id}`, ...added).expect(400);
    expect(body).toMatchObject({ scimType: 'tooMany' });
    expect(await read(id, 'emails')).toEqual(entries);
  });

  describe('members', () => {
    it.each<[string, (id: string) => object]>([
      ['as a text', (id) => ({ op: 'remove', path: 'members', value: id.toUpperCase() })],
      ['as an object', (id) => ({ op: 'Remove', path: 'members', value: { value: id, $ref: null } })],
      ['as a list of texts', (id) => ({ op: 'Remove', path: 'Members', value: [id] })],
      ['with names in capitals', (id) => ({ op: 'Remove', path: 'members', value: [{ Value: id }] })],
      ['by a filter', (id) => ({ op: 'remove', path: `members[VALUE eq "${id.toUpperCase()}"]` })],
    ])('one %s is removed, the other stays', async (_, operation) => {
      const [gone, stays] = [
        await directory.create('/Users', { userName: randomUUID() }),
        await directory.create('/Users', { userName: randomUUID() }),
      ];
      const members = [{ value: gone }, { value: stays }];
      const id = await directory.create('/Groups', { displayName: 'g', members });
      await directory.patch(`/Groups/${id}`, operation(gone)).expect(204);
      const { body } = await directory.send('GET', `/Groups/${id}`);
      expect(body).toMatchObject({ members: [{ value: stays }] });
    });

    it('null is none', async () => {
      const members = [{ value: await directory.create('/Users', { userName: randomUUID() }) }];
      const id = await directory.create('/Groups', { displayName: 'g', members });
      await directory.send('PUT', `/Groups/${id}`, { displayName: 'g', members: null }).expect(200);
      expect((await directory.send('GET', `/Groups/${id}`)).body).not.toHaveProperty('members');
    });

    it.each(['members.value', 'members.$ref'])('%s cannot be removed: all would go', async (path) => {
      const members = [{ value: await directory.create('/Users', { userName: randomUUID() }) }];
      const id = await directory.create('/Groups', { displayName: 'g', members });
      await directory.patch(`/Groups/${id}`, { op: 'remove', path }).expect(400);
      expect((await directory.send('GET', `/Groups/${id}`)).body).toMatchObject({ members });
    });
  });
});
