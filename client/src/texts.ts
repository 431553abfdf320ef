/** Everything that the client says to users. */
export interface Texts {
  title: string;
  close: string;
  /** Title of the frame, for screen readers. */
  frame: string;
  loading: string;
  finishing: string;
  /** While the provider's page is open in another window. */
  waiting: string;
  newWindow: string;
  signIn: string;
  retry: string;
  failed: string;
  noFrame: string;
  windowClosed: string;
  denied: string;
  invalidState: string;
  refused: string;
  network: string;
  unavailable: string;
  insecure: string;
  /** Why a session has ended by itself. */
  signedOut: string;
  ended: string;
}

const en: Texts = {
  title: 'Sign in',
  close: 'Close',
  frame: 'Sign-in page',
  loading: 'Loading the sign-in page',
  finishing: 'Finishing the sign-in',
  waiting: 'Please go on in the other window.',
  newWindow: 'Open in a new window',
  signIn: 'Sign in',
  retry: 'Try again',
  failed: 'Signing in did not work',
  noFrame: 'The sign-in page cannot be shown here.',
  windowClosed: 'The window was closed before you were signed in.',
  denied: 'You were not let in.',
  invalidState: 'The answer does not belong to this sign-in.',
  refused: 'The sign-in was refused, or took too long.',
  network: 'There is no connection to the sign-in service.',
  unavailable: 'The sign-in service is not available at the moment.',
  insecure: 'This page must be opened over https.',
  signedOut: 'You were signed out on this device.',
  ended: 'Your session has ended. Please sign in again.',
};

const de: Texts = {
  title: 'Anmelden',
  close: 'Schließen',
  frame: 'Anmeldeseite',
  loading: 'Anmeldeseite wird geladen',
  finishing: 'Anmeldung wird abgeschlossen',
  waiting: 'Bitte im anderen Fenster fortfahren.',
  newWindow: 'In neuem Fenster öffnen',
  signIn: 'Anmelden',
  retry: 'Erneut versuchen',
  failed: 'Die Anmeldung hat nicht geklappt',
  noFrame: 'Die Anmeldeseite kann hier nicht angezeigt werden.',
  windowClosed: 'Das Fenster wurde vor der Anmeldung geschlossen.',
  denied: 'Der Zugang wurde nicht gewährt.',
  invalidState: 'Die Antwort gehört nicht zu dieser Anmeldung.',
  refused: 'Die Anmeldung wurde abgelehnt oder hat zu lange gedauert.',
  network: 'Keine Verbindung zum Anmeldedienst.',
  unavailable: 'Der Anmeldedienst ist gerade nicht verfügbar.',
  insecure: 'Diese Seite muss über https geöffnet werden.',
  signedOut: 'Sie wurden auf diesem Gerät abgemeldet.',
  ended: 'Ihre Sitzung ist beendet. Bitte melden Sie sich erneut an.',
};

const zh: Texts = {
  title: '登录',
  close: '关闭',
  frame: '登录页面',
  loading: '正在加载登录页面',
  finishing: '正在完成登录',
  waiting: '请在另一个窗口中继续。',
  newWindow: '在新窗口中打开',
  signIn: '登录',
  retry: '重试',
  failed: '登录失败',
  noFrame: '登录页面无法在此处显示。',
  windowClosed: '登录完成前窗口已关闭。',
  denied: '登录请求被拒绝。',
  invalidState: '返回的结果与本次登录不符。',
  refused: '登录被拒绝或已超时。',
  network: '无法连接到登录服务。',
  unavailable: '登录服务暂时不可用。',
  insecure: '请通过 https 打开此页面。',
  signedOut: '您已在此设备上退出登录。',
  ended: '会话已结束，请重新登录。',
};

/** The language of a locale such as `de-AT`; English where there is none of ours. */
export function languageOf(locale: string): 'en' | 'de' | 'zh' {
  const language = locale.slice(0, 2).toLowerCase();
  return language === 'de' || language === 'zh' ? language : 'en';
}

export function textsFor(locale: string, own: Partial<Texts> = {}): Texts {
  return { ...{ en, de, zh }[languageOf(locale)], ...own };
}
