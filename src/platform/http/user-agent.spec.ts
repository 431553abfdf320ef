import { browserOf } from './user-agent.js';

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';

describe('browser and operating system of a user agent', () => {
  it.each<[userAgent: string | null, browser: string | null, os: string | null]>([
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/156.0.0.0 Safari/537.36`,
      'Chrome 156',
      'Windows 10/11',
    ],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/156.0.0.0 Safari/537.36 Edg/156.0.0.0`,
      'Microsoft Edge 156',
      'Windows 10/11',
    ],
    [
      `Mozilla/5.0 (Windows NT 6.3; Win64; x64) ${WEBKIT} Chrome/109.0.0.0 Safari/537.36`,
      'Chrome 109',
      'Windows 8.1',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15',
      'Safari 26',
      'macOS',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0', 'Firefox 150', 'Linux'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
      'Safari 17',
      'iOS 17.5',
    ],
    [
      `Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} Chrome/156.0.0.0 Mobile Safari/537.36`,
      'Chrome 156',
      'Android',
    ],
    [
      `Mozilla/5.0 (Linux; Android 14; SM-S928B) ${WEBKIT} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`,
      'Samsung Internet for Android 28',
      'Android 14',
    ],
    ['MyApp/3.2.1 (iPhone; iOS 18.1; Scale/3.00)', 'MyApp 3', 'iOS'],
    [`${'My'.repeat(100)}/3.2 (iPhone; iOS 18.1)`, null, 'iOS'],
    ['curl/8.5.0', null, null],
    ['constructor __proto__', null, null],
    [' ', null, null],
    ['', null, null],
    [null, null, null],
    // oxfmt-ignore
  ])('%s', (userAgent, browser, os) => expect(browserOf(userAgent)).toEqual({ browser, os }));

  // Backtracking would take hours. 20 ms: thirty times the longest that was measured.
  it('is found soon, whatever a client sends', () => {
    // oxfmt-ignore
    const words = ['Mozilla/5.0 (', 'Windows NT ', 'Android ', 'Mac OS X ', 'like Mac OS X', 'Version/', 'Chrome/', 'Firefox', 'MSIE ', 'Trident/7.0; rv:', 'Opera/', 'Tizen ', 'SamsungBrowser/', 'iemobile ', ''];
    const fills = [
      '1',
      '1.',
      '1_',
      '.1',
      'a',
      'a/',
      ' ',
      ';',
      '(',
      '/',
      '1 ',
      'Version/1 ',
      'Mobile ',
      'é',
      '\t',
      '-',
      'x/1.1 ',
    ];
    let slowest = 0;
    for (const word of words) {
      for (const fill of fills) {
        const text = `${(word + fill.repeat(1024)).slice(0, 1023)}!`;
        const tries = [1, 2, 3].map(() => {
          const began = performance.now();
          browserOf(text);
          return performance.now() - began;
        });
        slowest = Math.max(slowest, Math.min(...tries)); // the machine may stall
      }
    }
    expect(slowest).toBeLessThan(20);
  });
});
