import type { Texts } from './texts.js';

const texts: Texts = {
  language: 'de',
  signIn: 'Anmelden',
  continueWith: 'Weiter mit {provider}',
  email: 'E-Mail-Adresse',
  next: 'Weiter',
  unserved: 'Mit dieser Adresse kann sich hier niemand anmelden. Bitte prüfen Sie sie.',
  close: 'Schließen',
  wait: 'Einen Moment, bitte',
  slow: 'Lädt es noch?',
  newWindow: 'In neuem Fenster öffnen',
  unframed: 'Die Anmeldeseite lässt sich hier nicht anzeigen. Bitte öffnen Sie sie in einem neuen Fenster.',
  waiting:
    'Bitte machen Sie im anderen Fenster weiter. Falls Sie es geschlossen haben, öffnen Sie es noch einmal.',
  openAgain: 'Noch einmal öffnen',
  blocked: 'Das Fenster für die Anmeldung ist noch nicht offen.',
  unstored:
    'Dieser Browser speichert nichts für diese Website. Bitte machen Sie in einem neuen Fenster weiter.',
  openWindow: 'Fenster öffnen',
  thisWindow: 'In diesem Fenster weitermachen',
  done: 'Fertig. Sie können dieses Fenster schließen.',
  retry: 'Erneut versuchen',
  failed: 'Die Anmeldung hat nicht geklappt. Bitte versuchen Sie es noch einmal.',
  unavailable:
    'Der Anmeldedienst ist nicht erreichbar. Bitte prüfen Sie Ihre Verbindung und versuchen Sie es noch einmal.',
  trouble: 'Der Anmeldedienst ist gestört. Bitte versuchen Sie es in ein paar Minuten noch einmal.',
  denied: 'Die Anmeldung wurde nicht erlaubt. Sie können es noch einmal versuchen.',
  refused: 'Mit diesem Konto können Sie sich hier nicht anmelden.',
  otherAccount: 'Anderes Konto verwenden',
  stepUp: 'Bitte melden Sie sich dafür noch einmal an.',
  otherUser: 'Das war ein anderes Benutzerkonto. Bitte melden Sie sich mit demselben Konto an.',
  expired:
    'Die Anmeldung hat nicht geklappt, vielleicht weil sie zu lange gedauert hat. Bitte versuchen Sie es noch einmal.',
  slowDown: 'Das waren zu viele Versuche. Bitte versuchen Sie es {when} noch einmal.',
  misconfigured:
    'Die Anmeldung ist hier nicht richtig eingerichtet. Bitte sagen Sie es den Betreibern dieser Website.',
  signedOut: 'Sie wurden auf diesem Gerät abgemeldet. Bitte melden Sie sich neu an.',
  idle: 'Sie wurden abgemeldet, weil Sie eine Weile nichts getan haben. Bitte melden Sie sich neu an.',
  ended: 'Ihre Sitzung ist beendet. Bitte melden Sie sich neu an.',
  keyLost: 'Der Schlüssel Ihrer Sitzung fehlt in diesem Browser. Bitte melden Sie sich neu an.',
};
export default texts;
