/** The texts of `showDevices()`, `showUser()`, `showIdleNotice()`, `showDeviceRequests()`, `showIdentities()` and their React components. */
export interface AccountTexts extends Partial<ProgramTexts>, RequestTexts, Partial<IdentityTexts> {
  /** Language of the texts (BCP 47): of dates and times, too. */
  language: string;
  close: string;
  /** Shown while the list loads. */
  wait: string;
  retry: string;
  /** Name of the list. */
  devices: string;
  thisDevice: string;
  /** A device that says nothing about itself. */
  unknownDevice: string;
  /** `{browser}` is e.g. `Chrome 156`, `{system}` e.g. `Windows 10/11`. */
  browserOnSystem: string;
  online: string;
  offline: string;
  /** The device has no live session. */
  notSignedIn: string;
  /** `{when}` is e.g. `2 minutes ago`. */
  lastUsed: string;
  /** `{when}` is a date. */
  firstUsed: string;
  rename: string;
  /** Name of the button for screen readers. `{device}` is its name, with browser and last use. It contains the text of the button. */
  renameDevice: string;
  deviceName: string;
  save: string;
  cancel: string;
  signOut: string;
  signOutDevice: string;
  /** Asked before the sign-out. `{device}` is its name. */
  signOutQuestion: string;
  /** For a device without a live session. */
  remove: string;
  removeDevice: string;
  deviceIsOut: string;
  signOutOthers: string;
  othersQuestion: string;
  othersAreOut: string;
  /** Opens the list of devices without a live session. `{count}` is their number. */
  signedOutDevices: string;
  /** Loads the next 100 devices. */
  more: string;
  noDevices: string;
  /** The list takes long. */
  slowList: string;
  listFailed: string;
  /** A rename or a sign-out did not work. */
  actionFailed: string;
  /** The list may be old, since there is no connection. */
  stale: string;
  /** Name of the user's button. `{name}` is the name or the e-mail address. */
  accountOf: string;
  account: string;
  yourDevices: string;
  signOutEverywhere: string;
  /** Question, and its explanation. */
  everywhereQuestion: string;
  everywhereEffect: string;
  /** Asked a minute before the session ends since nobody acts. */
  stillThere: string;
  /** `{when}` is e.g. `in 58 seconds`. */
  idleEnd: string;
  /** Button: the session goes on. */
  stay: string;
}

/** The texts of `showDeviceRequests()`. */
export interface RequestTexts {
  /** Name of the list of devices that ask to be signed in. */
  deviceRequests: string;
  /** Question above a request. `{device}` is its name, else that of its program. */
  requestQuestion: string;
  /** `{program}`, `{address}` and `{when}` of a request, e.g. `2 minutes ago`. */
  requestFacts: string;
  /** Warning below a request. */
  requestWarning: string;
  /** Label of the field for the number that the device shows. */
  requestNumber: string;
  /** Label of the field for the code that a device shows. */
  requestCode: string;
  approve: string;
  deny: string;
  requestApproved: string;
  requestDenied: string;
  /** The request was decided elsewhere, or has expired; or the code is wrong. */
  requestOver: string;
  /** The number was wrong, so the request was denied. */
  requestWrongNumber: string;
}

/** The texts of the programs that act for the user. */
export interface ProgramTexts {
  /** Title of their list, and what it says below. */
  programs: string;
  programsHint: string;
  /** `{api}` is the address of what the program may use, `{scope}` what it may do there, e.g. `orders:read`. */
  programAccess: string;
  /** `{when}` is a date. */
  programSince: string;
  endProgram: string;
  /** Name of this button for screen readers, which contains its text. `{program}` is the name, with the last use. */
  endProgramNamed: string;
  /** Asked before the end. `{program}` is the name. */
  endQuestion: string;
  programEnded: string;
  /** Title of the list of programs that a provider allows and a person has ended, and what it says below. */
  stoppedPrograms: string;
  stoppedHint: string;
  /** `{when}` is a date. */
  programStopped: string;
  allowAgain: string;
  /** Name of this button for screen readers, which contains its text. `{program}` is the name, with the API. */
  allowAgainNamed: string;
  programAllowed: string;
}

/** The texts in the file of all components. In English, the others are in files of their own: few pages need them. */
export type FirstAccountTexts = Omit<AccountTexts, keyof ProgramTexts | keyof RequestTexts> &
  Partial<ProgramTexts & RequestTexts>;

/** The texts of `showIdentities()`. */
export interface IdentityTexts {
  /** Name of the list. */
  identities: string;
  /** The account of which the user id is derived: it stays. */
  identityOwn: string;
  /** `{when}` is a date. */
  identitySince: string;
  /** `{provider}` is the label of a provider, also below. */
  identityConnect: string;
  identityDisconnect: string;
  /** Name of the button for screen readers, which contains its text. */
  identityDisconnectNamed: string;
  /** Asked before, and the effect. `{account}` is e.g. `GitHub (ada@example.com)`. */
  disconnectQuestion: string;
  disconnectEffect: string;
  identityConnected: string;
  identityDisconnected: string;
  /** Asked if an account has signed in as another user: it is `{other}`, the main account `{own}`, e.g. `GitHub (ada@example.com)`. */
  mergeQuestion: string;
  mergeEffect: string;
  merge: string;
  identityMerged: string;
  /** The account is connected to another user, who cannot become part of this one. */
  identityTaken: string;
  /** The service does not allow it: by this session, or for this account. */
  identityRefused: string;
  identitiesFailed: string;
}
