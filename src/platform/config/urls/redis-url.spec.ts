import { redisUrl } from './redis-url.js';

const TWO = [
  { host: 's1.example', port: 26_379 },
  { host: 's2.example', port: 26_380 },
];
const NOTHING_MORE = {
  tls: false,
  db: 0,
  username: undefined,
  password: undefined,
  sentinelUsername: undefined,
  sentinelPassword: undefined,
};

it.each([
  'redis://redis.example',
  'redis://my_redis:6379/3',
  'rediss://user:p%40ss@[2001:db8::1]:6380/0',
  'redis://:password@redis.example/?family=6',
])('%s is kept as it is', (url) => expect(redisUrl.parse(url)).toBe(url));

it.each([
  ['redis+sentinel://s1.example,s2.example:26380/main', { sentinels: TWO, name: 'main' }],
  [
    'rediss+sentinel://user:p%40ss%2Fword@s1.example:26379,s2.example:26380/main/15',
    { tls: true, username: 'user', password: 'p@ss/word', sentinels: TWO, name: 'main', db: 15 },
  ],
  [
    'redis+sentinel://:a:b@[::1]:26380,192.0.2.1/my%20master?sentinel_username=watch&sentinel_password=p%26q+',
    {
      password: 'a:b',
      sentinels: [
        { host: '::1', port: 26_380 },
        { host: '192.0.2.1', port: 26_379 },
      ],
      name: 'my master',
      sentinelUsername: 'watch',
      sentinelPassword: 'p&q+',
    },
  ],
])('%s is taken apart', (url, parts) => expect(redisUrl.parse(url)).toEqual({ ...NOTHING_MORE, ...parts }));

it.each([
  'redis.example:6379',
  'redis://redis.example:65536',
  'redis://:%zz@redis.example',
  'redis://s1.example:26379,s2.example:26379/main',
  'redis+sentinel://s1.example,/main',
  'redis+sentinel://::1/main',
  'redis+sentinel://s1.example/main/zero',
  'redis+sentinel://s1.example/main?sentinel_password=%ff', // would be another password
  'redis+sentinel://user:a/b@s1.example/main',
  'redis+sentinel://s1.example/main?db=1',
  'redis+cluster://s1.example/main',
])('%s is refused', (url) => expect(() => redisUrl.parse(url)).toThrow('value refused'));
