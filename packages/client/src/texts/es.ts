import type { Texts } from './texts.js';

const texts: Texts = {
  language: 'es',
  signIn: 'Iniciar sesión',
  continueWith: 'Continuar con {provider}',
  email: 'Correo electrónico',
  next: 'Continuar',
  unserved: 'Con esta dirección no se puede iniciar sesión aquí. Compruébela, por favor.',
  close: 'Cerrar',
  wait: 'Un momento, por favor',
  slow: '¿Sigue cargando?',
  newWindow: 'Abrir en una ventana nueva',
  unframed: 'La página de inicio de sesión no se puede mostrar aquí. Ábrala en una ventana nueva, por favor.',
  waiting: 'Continúe en la otra ventana, por favor. Si la ha cerrado, ábrala de nuevo.',
  openAgain: 'Abrirla de nuevo',
  blocked: 'La ventana para iniciar sesión aún no se ha abierto.',
  unstored: 'Este navegador no guarda nada para este sitio. Continúe en una ventana nueva, por favor.',
  openWindow: 'Abrir la ventana',
  thisWindow: 'Continuar en esta ventana',
  done: '¡Listo! Ya puede cerrar esta ventana.',
  retry: 'Volver a intentarlo',
  failed: 'No se ha podido iniciar sesión. Inténtelo de nuevo, por favor.',
  unavailable:
    'No se puede acceder al servicio de inicio de sesión. Compruebe su conexión e inténtelo de nuevo, por favor.',
  trouble: 'El servicio de inicio de sesión tiene un problema. Inténtelo de nuevo dentro de unos minutos.',
  denied: 'No se ha permitido el inicio de sesión. Puede volver a intentarlo.',
  refused: 'Esta cuenta no puede iniciar sesión aquí.',
  otherAccount: 'Usar otra cuenta',
  stepUp: 'Para esto, vuelva a iniciar sesión.',
  otherUser: 'Ha iniciado sesión con otra cuenta. Utilice la misma cuenta que antes.',
  expired:
    'No se ha podido iniciar sesión, quizá porque ha pasado demasiado tiempo. Inténtelo de nuevo, por favor.',
  slowDown: 'Ha habido demasiados intentos. Inténtelo de nuevo {when}, por favor.',
  misconfigured:
    'El inicio de sesión no está bien configurado aquí. Avise a los responsables de este sitio, por favor.',
  signedOut: 'Se ha cerrado su sesión en este dispositivo. Inicie sesión de nuevo, por favor.',
  idle: 'Se ha cerrado su sesión por inactividad. Inicie sesión de nuevo, por favor.',
  ended: 'Su sesión ha terminado. Inicie sesión de nuevo, por favor.',
  keyLost: 'Falta la clave de su sesión en este navegador. Inicie sesión de nuevo, por favor.',
};
export default texts;
