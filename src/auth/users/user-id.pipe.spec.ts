import { UserIdPipe } from './users.controller.js';

const ID = '5bc0e9c5-b81c-415f-8353-07abfe8d4a71';

describe('a user id in a path', () => {
  it.each([ID, ID.toUpperCase()])('%s is read in lower case', (id) =>
    expect(new UserIdPipe().transform(id)).toBe(ID),
  );

  it.each(['', 'ada', `${ID}0`, `0${ID}`, ID.replaceAll('-', '')])('%j is refused', (id) => {
    expect(() => new UserIdPipe().transform(id)).toThrow(
      expect.objectContaining({ message: 'invalid_request: user_id must be a UUID' }) as Error,
    );
  });
});
