"""Lossless: n-gram drafts from the text itself, certain ones; a decoder with a fallback of none."""

from specsim.conform import Subject


def propose(text, most):
    for width in (2, 1):
        tail = text[-width:]
        for at in range(len(text) - width - 1, -1, -1):
            if text[at : at + width] == tail:
                return text[at + width : at + width + most]
    return []


def generate(target, draft, prompt, n, sampling_params, random):
    text = list(prompt)
    stop = len(text) + n
    while len(text) < stop:
        guess = propose(text, min(2, stop - len(text) - 1))
        rows = target.rows(text + guess, len(text))
        for x, row in zip(guess, rows, strict=False):
            y = int(random.choice(len(row), p=row))
            text.append(y)
            if y != x:
                break
        else:
            text.append(int(random.choice(rows.shape[1], p=rows[len(guess)])))
    return text[len(prompt) : stop]


def subject():
    return Subject("prompt_lookup", "decoder", generate, sizes=(1, 2))
