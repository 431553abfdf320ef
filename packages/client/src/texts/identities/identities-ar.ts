import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'الحسابات التي تسجّل الدخول بها',
  identityOwn: 'الحساب الرئيسي',
  identitySince: 'تم الربط في {when}',
  identityConnect: 'ربط {provider}',
  identityDisconnect: 'إلغاء الربط',
  identityDisconnectNamed: 'إلغاء الربط: {provider}',
  disconnectQuestion: 'هل تريد إلغاء ربط {account}؟',
  disconnectEffect:
    'لن يمكنك تسجيل الدخول بهذا الحساب بعد ذلك. وسيتم تسجيل الخروج من الأجهزة التي سُجّل الدخول عليها به.',
  identityConnected: 'تم ربط {provider}.',
  identityDisconnected: 'تم إلغاء ربط {provider}.',
  mergeQuestion: 'هل تريد دمج {other} في {own}؟',
  mergeEffect:
    '{other} مستخدم آخر هنا. عند الدمج يصبح جزءًا من هذا المستخدم: سيتم تسجيل الخروج من أجهزته، وقد يلزم نقل بياناته في هذا التطبيق. لا يمكن التراجع عن ذلك.',
  merge: 'دمج',
  identityMerged: 'أصبح {other} جزءًا من هذا المستخدم.',
  identityTaken: 'هذا الحساب مرتبط بمستخدم آخر.',
  identityRefused: 'هذا غير مسموح. ربما عليك تسجيل الدخول أولًا بحسابك الرئيسي.',
  identitiesFailed: 'لا يمكن عرض الحسابات في الوقت الحالي.',
};

export default texts;
