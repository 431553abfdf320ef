import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'Облікові записи для входу',
  identityOwn: 'Основний обліковий запис',
  identitySince: 'Під’єднано: {when}',
  identityConnect: 'Під’єднати: {provider}',
  identityDisconnect: 'Від’єднати',
  identityDisconnectNamed: 'Від’єднати: {provider}',
  disconnectQuestion: 'Від’єднати {account}?',
  disconnectEffect:
    'За допомогою цього облікового запису більше не можна буде увійти. На пристроях, де він використаний, буде виконано вихід.',
  identityConnected: 'Під’єднано: {provider}.',
  identityDisconnected: 'Від’єднано: {provider}.',
  mergeQuestion: 'Об’єднати {other} з {own}?',
  mergeEffect:
    '{other} — тут інший користувач. Після об’єднання він стане частиною цього: на його пристроях буде виконано вихід, а його дані в цьому застосунку, можливо, доведеться перенести. Це не можна скасувати.',
  merge: 'Об’єднати',
  identityMerged: '{other} тепер належить цьому користувачу.',
  identityTaken: 'Цей обліковий запис під’єднано до іншого користувача.',
  identityRefused:
    'Це не дозволено. Можливо, спершу потрібно увійти за допомогою основного облікового запису.',
  identitiesFailed: 'Зараз неможливо показати облікові записи.',
};

export default texts;
