/** Everything that the client says to users. */
export interface Texts {
  signIn: string;
  close: string;
  /** While something is going on. */
  wait: string;
  /** While the provider's page is open in another window. */
  waiting: string;
  newWindow: string;
  retry: string;
  failed: string;
  /** The service, or the provider's page, cannot be reached. */
  unavailable: string;
  /** The session was ended by the service, mostly from another device. */
  signedOut: string;
  /** The session is over. */
  ended: string;
  /** The key of the session is not in this browser. */
  keyLost: string;
}

const TEXTS: Record<string, Texts> = {
  en: {
    signIn: 'Sign in',
    close: 'Close',
    wait: 'One moment, please',
    waiting: 'Please go on in the other window',
    newWindow: 'Open in a new window',
    retry: 'Try again',
    failed: 'Signing in did not work',
    unavailable: 'The sign-in service cannot be reached',
    signedOut: 'You were signed out on this device',
    ended: 'Your session has ended',
    keyLost: 'The key of your session is missing in this browser',
  },
  de: {
    signIn: 'Anmelden',
    close: 'Schließen',
    wait: 'Einen Moment, bitte',
    waiting: 'Bitte im anderen Fenster fortfahren',
    newWindow: 'In neuem Fenster öffnen',
    retry: 'Erneut versuchen',
    failed: 'Die Anmeldung hat nicht geklappt',
    unavailable: 'Der Anmeldedienst ist nicht erreichbar',
    signedOut: 'Sie wurden auf diesem Gerät abgemeldet',
    ended: 'Ihre Sitzung ist beendet',
    keyLost: 'Der Schlüssel Ihrer Sitzung fehlt in diesem Browser',
  },
  zh: {
    signIn: '登录',
    close: '关闭',
    wait: '请稍候',
    waiting: '请在另一个窗口中继续',
    newWindow: '在新窗口中打开',
    retry: '重试',
    failed: '登录失败',
    unavailable: '无法连接登录服务',
    signedOut: '您已在此设备上退出登录',
    ended: '您的会话已结束',
    keyLost: '此浏览器中没有您的会话密钥',
  },
};

/** @param locale such as `de-AT`; English for every language that is not ours */
export function textsFor(locale: string, own?: Partial<Texts>): Texts & { language: string } {
  const language = locale.slice(0, 2).toLowerCase();
  const texts = TEXTS[language];
  return { ...(texts ?? TEXTS['en']!), ...own, language: texts ? language : 'en' };
}
