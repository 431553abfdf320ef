import type { Request } from 'express';

/** Texts of the page for devices without a browser. */
export interface DeviceTexts {
  readonly title: string;
  readonly enter: string;
  readonly enterLead: string;
  readonly code: string;
  readonly next: string;
  readonly warning: string;
  readonly wrongCode: string;
  readonly tooMany: string;
  readonly goOn: string;
  readonly goOnLead: string;
  readonly question: string;
  readonly device: string;
  readonly program: string;
  readonly address: string;
  readonly begun: string;
  readonly account: string;
  readonly unnamed: string;
  readonly foreign: string;
  readonly yes: string;
  readonly no: string;
  readonly approved: string;
  readonly approvedLead: string;
  readonly denied: string;
  readonly deniedLead: string;
  readonly over: string;
  readonly overLead: string;
  readonly failed: string;
  readonly notAllowed: string;
  readonly otherAccount: string;
  readonly again: string;
}

const en: DeviceTexts = {
  title: 'Sign in a device',
  enter: 'Sign in a device',
  enterLead: 'Enter the code that the device shows.',
  code: 'Code',
  next: 'Continue',
  warning:
    'Enter only a code of a device that is in front of you. If somebody has sent you a code, close this page.',
  wrongCode: 'There is no such code, or it has expired. Please compare it with the device.',
  tooMany: 'Too many codes were wrong. Please wait a minute.',
  goOn: 'Next, sign in',
  goOnLead: 'You sign in here so that the device can be signed in.',
  question: 'Sign this device in?',
  device: 'Device',
  program: 'Program',
  address: 'Address',
  begun: 'Begun',
  account: 'As',
  unnamed: 'without a name',
  foreign: 'This device is in another network than you are. If it is not in front of you, answer “No”.',
  yes: 'Yes, sign it in',
  no: 'No',
  approved: 'The device is signed in',
  approvedLead: 'You can close this page. It is now in your list.',
  denied: 'The device was not signed in',
  deniedLead: 'You can close this page. If you did not begin this, nothing else is needed.',
  over: 'This code is not valid any more',
  overLead: 'It was used, or it has expired. Begin again on the device.',
  failed: 'The sign-in did not succeed. Please try again.',
  notAllowed: 'This account may not sign in here.',
  otherAccount: 'This request is for another account.',
  again: 'Try again',
};

const LANGUAGES: Readonly<Record<string, DeviceTexts>> = { en };

/** Chooses the language of a page by `Accept-Language`; English if none fits. */
export function chooseLanguage(request: Request): { readonly tag: string; readonly texts: DeviceTexts } {
  const tags = Object.keys(LANGUAGES);
  const tag = request.acceptsLanguages(tags) || 'en';
  return { tag, texts: LANGUAGES[tag]! };
}
