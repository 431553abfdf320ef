import type { Texts } from './texts.js';

/** With narrow no-break spaces (U+202F) before ? and !, as French typography asks. */
const texts: Texts = {
  language: 'fr',
  signIn: 'Se connecter',
  continueWith: 'Continuer avec {provider}',
  close: 'Fermer',
  wait: 'Un instant, s’il vous plaît',
  slow: 'Toujours en chargement\u202f?',
  newWindow: 'Ouvrir dans une nouvelle fenêtre',
  unframed: 'La page de connexion ne peut pas s’afficher ici. Veuillez l’ouvrir dans une nouvelle fenêtre.',
  waiting: 'Veuillez continuer dans l’autre fenêtre. Si vous l’avez fermée, rouvrez-la.',
  openAgain: 'La rouvrir',
  blocked: 'La fenêtre de connexion ne s’est pas encore ouverte.',
  unstored: 'Ce navigateur n’enregistre rien pour ce site. Veuillez continuer dans une nouvelle fenêtre.',
  openWindow: 'Ouvrir la fenêtre',
  thisWindow: 'Continuer dans cette fenêtre',
  done: 'C’est fait\u202f! Vous pouvez fermer cette fenêtre.',
  retry: 'Réessayer',
  failed: 'La connexion n’a pas abouti. Veuillez réessayer.',
  unavailable: 'Le service de connexion est injoignable. Veuillez vérifier votre réseau, puis réessayer.',
  trouble: 'Le service de connexion rencontre un problème. Veuillez réessayer dans quelques minutes.',
  denied: 'La connexion n’a pas été autorisée. Vous pouvez réessayer.',
  stepUp: 'Pour cela, veuillez vous reconnecter.',
  otherUser: 'Vous vous êtes connecté avec un autre compte. Veuillez utiliser le même compte qu’avant.',
  expired: 'La connexion n’a pas abouti, peut-être parce qu’elle a pris trop de temps. Veuillez réessayer.',
  slowDown: 'Il y a eu trop de tentatives. Veuillez réessayer {when}.',
  misconfigured:
    'La connexion n’est pas configurée correctement ici. Veuillez prévenir les responsables de ce site.',
  signedOut: 'Votre session a été fermée sur cet appareil. Veuillez vous reconnecter.',
  ended: 'Votre session est terminée. Veuillez vous reconnecter.',
  keyLost: 'La clé de votre session est absente de ce navigateur. Veuillez vous reconnecter.',
};
export default texts;
