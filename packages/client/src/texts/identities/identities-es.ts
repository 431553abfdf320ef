import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'Cuentas con las que inicia sesión',
  identityOwn: 'Cuenta principal',
  identitySince: 'Vinculada el {when}',
  identityConnect: 'Vincular {provider}',
  identityDisconnect: 'Desvincular',
  identityDisconnectNamed: 'Desvincular: {provider}',
  disconnectQuestion: '¿Desvincular {account}?',
  disconnectEffect:
    'Ya no podrá iniciar sesión con esta cuenta. Se cerrará la sesión en los dispositivos que la usaron.',
  identityConnected: '{provider} está vinculado.',
  identityDisconnected: '{provider} está desvinculado.',
  mergeQuestion: '¿Combinar {other} con {own}?',
  mergeEffect:
    '{other} es aquí otro usuario. Al combinarlos, pasará a formar parte de este: se cerrará la sesión en sus dispositivos y es posible que haya que trasladar sus datos en esta aplicación. No se puede deshacer.',
  merge: 'Combinar',
  identityMerged: '{other} ya forma parte de este usuario.',
  identityTaken: 'Esta cuenta está vinculada a otro usuario.',
  identityRefused: 'No está permitido. Quizá tenga que iniciar sesión antes con su cuenta principal.',
  identitiesFailed: 'No se pueden mostrar las cuentas en este momento.',
};

export default texts;
