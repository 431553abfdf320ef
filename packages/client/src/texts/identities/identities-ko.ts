import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: '로그인에 쓰는 계정',
  identityOwn: '기본 계정',
  identitySince: '{when}에 연결됨',
  identityConnect: '{provider} 연결',
  identityDisconnect: '연결 해제',
  identityDisconnectNamed: '연결 해제: {provider}',
  disconnectQuestion: '{account} 연결을 해제할까요?',
  disconnectEffect: '이 계정으로 더 이상 로그인할 수 없습니다. 이 계정으로 로그인한 기기에서 로그아웃됩니다.',
  identityConnected: '{provider}이(가) 연결되었습니다.',
  identityDisconnected: '{provider} 연결이 해제되었습니다.',
  mergeQuestion: '{other}을(를) {own}에 병합할까요?',
  mergeEffect:
    '{other}은(는) 여기에서 다른 사용자입니다. 병합하면 이 사용자의 일부가 됩니다. 그 사용자의 기기에서 로그아웃되고, 이 애플리케이션의 데이터는 옮겨야 할 수 있습니다. 되돌릴 수 없습니다.',
  merge: '병합',
  identityMerged: '{other}은(는) 이제 이 사용자의 일부입니다.',
  identityTaken: '이 계정은 다른 사용자에게 연결되어 있습니다.',
  identityRefused: '허용되지 않습니다. 먼저 기본 계정으로 로그인해야 할 수 있습니다.',
  identitiesFailed: '지금은 계정을 표시할 수 없습니다.',
};

export default texts;
