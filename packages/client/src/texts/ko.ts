import type { Texts } from './texts.js';

/** Not read by a native speaker. */
const texts: Texts = {
  language: 'ko',
  signIn: '로그인',
  continueWith: '{provider}(으)로 계속하기',
  close: '닫기',
  wait: '잠시만 기다려 주세요',
  slow: '아직 로드 중인가요?',
  newWindow: '새 창에서 열기',
  unframed: '여기에 로그인 페이지를 표시할 수 없습니다. 새 창에서 열어 주세요.',
  waiting: '다른 창에서 계속해 주세요. 창을 닫았다면 다시 열어 주세요.',
  openAgain: '다시 열기',
  blocked: '로그인 창이 아직 열리지 않았습니다.',
  unstored: '이 브라우저는 이 사이트의 데이터를 저장하지 않습니다. 새 창에서 계속해 주세요.',
  openWindow: '창 열기',
  thisWindow: '이 창에서 계속하기',
  done: '완료되었습니다. 이 창을 닫아도 됩니다.',
  retry: '다시 시도',
  failed: '로그인하지 못했습니다. 다시 시도해 주세요.',
  unavailable: '로그인 서비스에 연결할 수 없습니다. 연결을 확인하고 다시 시도해 주세요.',
  trouble: '로그인 서비스에 문제가 있습니다. 몇 분 후에 다시 시도해 주세요.',
  denied: '로그인이 허용되지 않았습니다. 다시 시도할 수 있습니다.',
  stepUp: '이 작업을 하려면 다시 로그인해 주세요.',
  otherUser: '다른 계정으로 로그인했습니다. 이전과 같은 계정으로 로그인해 주세요.',
  expired: '로그인하지 못했습니다. 시간이 너무 오래 걸렸을 수 있습니다. 다시 시도해 주세요.',
  slowDown: '시도 횟수가 너무 많습니다. {when} 다시 시도해 주세요.',
  misconfigured: '로그인이 올바르게 설정되지 않았습니다. 사이트 운영자에게 알려 주세요.',
  signedOut: '이 기기에서 로그아웃되었습니다. 다시 로그인해 주세요.',
  ended: '세션이 종료되었습니다. 다시 로그인해 주세요.',
  keyLost: '이 브라우저에 세션 키가 없습니다. 다시 로그인해 주세요.',
};

export default texts;
