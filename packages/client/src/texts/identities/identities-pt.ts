import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'Contas com que inicia sessão',
  identityOwn: 'Conta principal',
  identitySince: 'Associada em {when}',
  identityConnect: 'Associar {provider}',
  identityDisconnect: 'Desassociar',
  identityDisconnectNamed: 'Desassociar: {provider}',
  disconnectQuestion: 'Desassociar {account}?',
  disconnectEffect:
    'Não poderá mais entrar com esta conta. A sessão será encerrada nos dispositivos que a usaram.',
  identityConnected: '{provider} está associado.',
  identityDisconnected: '{provider} está desassociado.',
  mergeQuestion: 'Unir {other} a {own}?',
  mergeEffect:
    '{other} é aqui outro utilizador. Ao unir, passa a fazer parte deste: a sessão será encerrada nos seus dispositivos, e os seus dados nesta aplicação poderão ter de ser transferidos. Não é possível desfazer.',
  merge: 'Unir',
  identityMerged: '{other} faz agora parte deste utilizador.',
  identityTaken: 'Esta conta está associada a outro utilizador.',
  identityRefused: 'Não é permitido. Talvez tenha de entrar primeiro com a sua conta principal.',
  identitiesFailed: 'Não é possível mostrar as contas neste momento.',
};

export default texts;
