import { useState, type ReactNode } from 'react';
import { load, type ApiError } from '../api/api.js';
import { say } from '../parts/toast.js';

/** Milliseconds for which the file is kept: some browsers read it later. */
const FILE_LIFETIME = 60_000;

/** Saves all that the service stores of a user as a file. */
export function Export({ userId }: { userId: string }): ReactNode {
  const [isLoading, setLoading] = useState(false);
  const save = async (): Promise<void> => {
    setLoading(true);
    try {
      const url = URL.createObjectURL(await load(`/users/${userId}/export`));
      Object.assign(document.createElement('a'), { href: url, download: `user-${userId}.json` }).click();
      setTimeout(() => URL.revokeObjectURL(url), FILE_LIFETIME);
      say('The file has what the service stores of this user.');
    } catch (error) {
      say(`The export failed. ${(error as ApiError).message}`);
    }
    setLoading(false);
  };
  return (
    <button
      type="button"
      className="button"
      aria-disabled={isLoading}
      aria-busy={isLoading}
      onClick={() => isLoading || void save()}
    >
      Export
    </button>
  );
}
