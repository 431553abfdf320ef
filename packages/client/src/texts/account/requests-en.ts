import type { RequestTexts } from './account-texts.js';

const texts: RequestTexts = {
  deviceRequests: 'Devices that ask',
  requestQuestion: 'Sign “{device}” in?',
  requestFacts: '{program}, {address}, {when}',
  requestWarning: 'Only if it is in front of you. If somebody has sent you a code, answer “No”.',
  requestNumber: 'Number on the device',
  requestCode: 'Code on the device',
  approve: 'Yes, sign it in',
  deny: 'No',
  requestApproved: 'The device is signed in.',
  requestDenied: 'The request was denied.',
  requestOver: 'This request is not open any more, or the code is wrong.',
  requestWrongNumber: 'The number was wrong. The request was denied.',
};

export default texts;
