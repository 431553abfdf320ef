import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'חשבונות לכניסה',
  identityOwn: 'החשבון הראשי',
  identitySince: 'חובר בתאריך {when}',
  identityConnect: 'חיבור {provider}',
  identityDisconnect: 'ניתוק',
  identityDisconnectNamed: 'ניתוק: {provider}',
  disconnectQuestion: 'לנתק את {account}?',
  disconnectEffect: 'לא ניתן יהיה להיכנס עוד באמצעות החשבון הזה. מכשירים שנכנסו באמצעותו ינותקו.',
  identityConnected: '{provider} מחובר.',
  identityDisconnected: '{provider} נותק.',
  mergeQuestion: 'למזג את {other} אל {own}?',
  mergeEffect:
    '{other} הוא כאן משתמש אחר. במיזוג הוא ייעשה חלק מהמשתמש הזה: המכשירים שלו ינותקו, וייתכן שיהיה צורך להעביר את הנתונים שלו ביישום הזה. לא ניתן לבטל זאת.',
  merge: 'מיזוג',
  identityMerged: '{other} הוא כעת חלק מהמשתמש הזה.',
  identityTaken: 'החשבון הזה מחובר למשתמש אחר.',
  identityRefused: 'זה אינו מותר. ייתכן שיש להיכנס תחילה באמצעות החשבון הראשי.',
  identitiesFailed: 'לא ניתן להציג כעת את החשבונות.',
};

export default texts;
