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
  readonly useOther: string;
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
}
