import type { Texts } from './texts.js';

/** Not read by a native speaker. */
const texts: Texts = {
  language: 'nl',
  signIn: 'Inloggen',
  continueWith: 'Doorgaan met {provider}',
  close: 'Sluiten',
  wait: 'Een ogenblik geduld',
  slow: 'Wordt er nog geladen?',
  newWindow: 'Openen in een nieuw venster',
  unframed: 'De inlogpagina kan hier niet worden getoond. Open haar in een nieuw venster.',
  waiting: 'Ga verder in het andere venster. Als je het hebt gesloten, open het dan opnieuw.',
  openAgain: 'Opnieuw openen',
  blocked: 'Het venster om in te loggen is nog niet geopend.',
  unstored: 'Deze browser bewaart niets voor deze site. Ga verder in een nieuw venster.',
  openWindow: 'Venster openen',
  thisWindow: 'Verdergaan in dit venster',
  done: 'Klaar. Je kunt dit venster sluiten.',
  retry: 'Opnieuw proberen',
  failed: 'Inloggen is niet gelukt. Probeer het opnieuw.',
  unavailable: 'De inlogdienst is niet bereikbaar. Controleer je verbinding en probeer het opnieuw.',
  trouble: 'De inlogdienst heeft een probleem. Probeer het over enkele minuten opnieuw.',
  denied: 'Het inloggen is niet toegestaan. Je kunt het opnieuw proberen.',
  stepUp: 'Log hiervoor opnieuw in.',
  otherUser: 'U bent met een ander account ingelogd. Gebruik hetzelfde account als eerst.',
  expired: 'Inloggen is niet gelukt, misschien omdat het te lang duurde. Probeer het opnieuw.',
  slowDown: 'Er waren te veel pogingen. Probeer het {when} opnieuw.',
  misconfigured: 'Inloggen is hier niet goed ingesteld. Laat het de beheerders van deze site weten.',
  signedOut: 'Je bent op dit apparaat uitgelogd. Log opnieuw in.',
  ended: 'Je sessie is beëindigd. Log opnieuw in.',
  keyLost: 'De sleutel van je sessie ontbreekt in deze browser. Log opnieuw in.',
};

export default texts;
