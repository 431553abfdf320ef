import type { Texts } from './texts.js';

/** Not read by a native speaker. */
const texts: Texts = {
  language: 'it',
  signIn: 'Accedi',
  continueWith: 'Continua con {provider}',
  close: 'Chiudi',
  wait: 'Un momento, per favore',
  slow: 'Il caricamento è ancora in corso?',
  newWindow: 'Apri in una nuova finestra',
  unframed: 'La pagina di accesso non può essere mostrata qui. Aprila in una nuova finestra.',
  waiting: 'Continua nell’altra finestra. Se l’hai chiusa, aprila di nuovo.',
  openAgain: 'Aprila di nuovo',
  blocked: 'La finestra per l’accesso non si è ancora aperta.',
  unstored: 'Questo browser non salva nulla per questo sito. Continua in una nuova finestra.',
  openWindow: 'Apri la finestra',
  thisWindow: 'Continua in questa finestra',
  done: 'Fatto. Puoi chiudere questa finestra.',
  retry: 'Riprova',
  failed: 'L’accesso non è riuscito. Riprova.',
  unavailable: 'Il servizio di accesso non è raggiungibile. Controlla la connessione e riprova.',
  trouble: 'Il servizio di accesso ha un problema. Riprova tra qualche minuto.',
  denied: 'L’accesso non è stato consentito. Puoi riprovare.',
  stepUp: 'Per questa operazione, accedi di nuovo.',
  otherUser: 'Hai effettuato l’accesso con un altro account. Usa lo stesso account di prima.',
  expired: 'L’accesso non è riuscito, forse perché è passato troppo tempo. Riprova.',
  slowDown: 'Ci sono stati troppi tentativi. Riprova {when}.',
  misconfigured: 'L’accesso non è configurato correttamente qui. Avvisa i responsabili di questo sito.',
  signedOut: 'La sessione è stata chiusa su questo dispositivo. Accedi di nuovo.',
  ended: 'La sessione è terminata. Accedi di nuovo.',
  keyLost: 'In questo browser manca la chiave della tua sessione. Accedi di nuovo.',
};

export default texts;
