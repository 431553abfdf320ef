import type { Texts } from './texts.js';

/** Not read by a native speaker. */
const texts: Texts = {
  language: 'pl',
  signIn: 'Zaloguj się',
  continueWith: 'Kontynuuj przez {provider}',
  close: 'Zamknij',
  wait: 'Chwileczkę',
  slow: 'Nadal się ładuje?',
  newWindow: 'Otwórz w nowym oknie',
  unframed: 'Nie można tu wyświetlić strony logowania. Otwórz ją w nowym oknie.',
  waiting: 'Kontynuuj w drugim oknie. Jeśli zostało zamknięte, otwórz je ponownie.',
  openAgain: 'Otwórz ponownie',
  blocked: 'Okno logowania jeszcze się nie otworzyło.',
  unstored: 'Ta przeglądarka nie zapisuje niczego dla tej strony. Kontynuuj w nowym oknie.',
  openWindow: 'Otwórz okno',
  thisWindow: 'Kontynuuj w tym oknie',
  done: 'Gotowe. Możesz zamknąć to okno.',
  retry: 'Spróbuj ponownie',
  failed: 'Logowanie nie powiodło się. Spróbuj ponownie.',
  unavailable: 'Usługa logowania jest nieosiągalna. Sprawdź połączenie i spróbuj ponownie.',
  trouble: 'Usługa logowania ma problem. Spróbuj ponownie za kilka minut.',
  denied: 'Logowanie zostało odrzucone. Możesz spróbować ponownie.',
  stepUp: 'Aby to zrobić, zaloguj się ponownie.',
  otherUser: 'To było inne konto. Zaloguj się na to samo konto co poprzednio.',
  expired: 'Logowanie nie powiodło się, być może trwało zbyt długo. Spróbuj ponownie.',
  slowDown: 'Było zbyt wiele prób. Spróbuj ponownie {when}.',
  misconfigured: 'Logowanie nie jest tu poprawnie skonfigurowane. Powiadom osoby prowadzące tę stronę.',
  signedOut: 'Na tym urządzeniu nastąpiło wylogowanie. Zaloguj się ponownie.',
  ended: 'Twoja sesja wygasła. Zaloguj się ponownie.',
  keyLost: 'W tej przeglądarce brakuje klucza Twojej sesji. Zaloguj się ponownie.',
};

export default texts;
