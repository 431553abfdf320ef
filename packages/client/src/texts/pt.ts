import type { Texts } from './texts.js';

/** Not read by a native speaker. */
const texts: Texts = {
  language: 'pt',
  signIn: 'Entrar',
  continueWith: 'Continuar com {provider}',
  email: 'Endereço de e-mail',
  next: 'Continuar',
  unserved: 'Não é possível entrar aqui com este endereço. Verifique-o, por favor.',
  close: 'Fechar',
  wait: 'Um momento, por favor',
  slow: 'Ainda carregando?',
  newWindow: 'Abrir em uma nova janela',
  unframed: 'A página de entrada não pode ser mostrada aqui. Abra-a em uma nova janela, por favor.',
  waiting: 'Continue na outra janela, por favor. Se a fechou, abra-a novamente.',
  openAgain: 'Abrir novamente',
  blocked: 'A janela para entrar ainda não foi aberta.',
  unstored: 'Este navegador não guarda nada para este site. Continue em uma nova janela, por favor.',
  openWindow: 'Abrir a janela',
  thisWindow: 'Continuar nesta janela',
  done: 'Pronto. Pode fechar esta janela.',
  retry: 'Tentar novamente',
  failed: 'Não foi possível entrar. Tente novamente, por favor.',
  unavailable:
    'Não é possível acessar o serviço de autenticação. Verifique a sua conexão e tente novamente, por favor.',
  trouble:
    'O serviço de autenticação está com um problema. Tente novamente dentro de alguns minutos, por favor.',
  denied: 'A entrada não foi permitida. Pode tentar novamente.',
  refused: 'Esta conta não pode entrar aqui.',
  otherAccount: 'Usar outra conta',
  stepUp: 'Para isso, entre novamente, por favor.',
  otherUser: 'Você entrou com outra conta. Use a mesma conta de antes, por favor.',
  expired: 'Não foi possível entrar, talvez porque demorou demais. Tente novamente, por favor.',
  slowDown: 'Houve tentativas demais. Tente novamente {when}, por favor.',
  misconfigured:
    'A entrada não está configurada corretamente aqui. Avise os responsáveis por este site, por favor.',
  signedOut: 'A sua sessão foi encerrada neste dispositivo. Entre novamente, por favor.',
  idle: 'A sua sessão foi encerrada por inatividade. Entre novamente, por favor.',
  ended: 'A sua sessão terminou. Entre novamente, por favor.',
  keyLost: 'Falta a chave da sua sessão neste navegador. Entre novamente, por favor.',
};

export default texts;
