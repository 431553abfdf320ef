import type { FirstTexts, QuestionTexts, Texts } from './texts.js';

/** The texts of the dialog alone. */
const texts: Omit<Texts, keyof (FirstTexts & QuestionTexts)> = {
  close: 'Close',
  wait: 'One moment, please',
  slow: 'Still loading?',
  newWindow: 'Open in a new window',
  unframed: 'The sign-in page cannot be shown here. Please open it in a new window.',
  waiting: 'Please go on in the other window. If you have closed it, open it again.',
  openAgain: 'Open it again',
  blocked: 'The window for signing in has not opened yet.',
  unstored: 'This browser stores nothing for this site. Please go on in a new window.',
  openWindow: 'Open the window',
  thisWindow: 'Go on in this window',
  retry: 'Try again',
  failed: 'Signing in did not work. Please try again.',
  unavailable: 'The sign-in service cannot be reached. Please check your connection, and try again.',
  trouble: 'The sign-in service has a problem. Please try again in a few minutes.',
  denied: 'The sign-in was not allowed. You can try again.',
  refused: 'This account may not sign in here.',
  otherAccount: 'Use another account',
  stepUp: 'For this, please sign in again.',
  otherUser: 'You signed in as another user. Please sign in as before.',
  expired: 'Signing in did not work, perhaps because it took too long. Please try again.',
  slowDown: 'There were too many attempts. Please try again {when}.',
  misconfigured: 'Signing in is not set up correctly here. Please tell the people who run this site.',
};

export default texts;
