import type { Texts } from './texts.js';

/** In simplified characters, for readers of traditional ones as well. */
const texts: Texts = {
  language: 'zh-Hans',
  signIn: '登录',
  continueWith: '使用 {provider} 继续',
  close: '关闭',
  wait: '请稍候',
  slow: '仍在加载？',
  newWindow: '在新窗口中打开',
  unframed: '无法在此处显示登录页面，请在新窗口中打开。',
  waiting: '请在另一个窗口中继续。如果您已将其关闭，请重新打开。',
  openAgain: '重新打开',
  blocked: '登录窗口尚未打开。',
  unstored: '此浏览器不会为本网站保存数据，请在新窗口中继续。',
  openWindow: '打开窗口',
  thisWindow: '在此窗口中继续',
  done: '已完成，您可以关闭此窗口。',
  retry: '重试',
  failed: '登录失败，请重试。',
  unavailable: '无法连接登录服务，请检查网络连接后重试。',
  trouble: '登录服务出现问题，请过几分钟再试。',
  denied: '登录未获允许，您可以重试。',
  stepUp: '此操作需要重新登录。',
  otherUser: '您登录了另一个账号。请使用原来的账号登录。',
  expired: '登录失败，可能是因为耗时过长，请重试。',
  slowDown: '尝试次数过多，请在{when}重试。',
  misconfigured: '此处的登录未正确设置，请告知本网站的运营者。',
  signedOut: '您已在此设备上退出登录，请重新登录。',
  ended: '您的会话已结束，请重新登录。',
  keyLost: '此浏览器中没有您的会话密钥，请重新登录。',
};
export default texts;
