import type { ProgramTexts } from './account-texts.js';

const texts: ProgramTexts = {
  programs: 'Programs that act for you',
  programsHint: 'Signing out all other devices ends them as well.',
  programAccess: 'At {api}: {scope}',
  programSince: 'Allowed on {when}',
  endProgram: 'End',
  endProgramNamed: 'End {program}',
  endQuestion: 'End the access of {program}?',
  programEnded: '{program} cannot act for you any more.',
  stoppedPrograms: 'Stopped programs',
  stoppedHint: 'They stay away until you allow them again.',
  programStopped: 'Stopped on {when}',
  allowAgain: 'Allow again',
  allowAgainNamed: 'Allow again: {program}',
  programAllowed: '{program} may act for you again.',
};

export default texts;
