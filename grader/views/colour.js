// Colours of the views: cividis, which looks the same with common colour blindnesses and stays readable in print.

// matplotlib's cividis at 33 even steps; a straight line between two of them is off by less than 2 %.
const CIVIDIS = `
00224e 00285b 002e6a 053371 1a386f 273e6e 32436d 3b496c 434e6c 4b546c 535a6d
5a5f6e 61656f 686a71 6f7073 767676 7d7c78 848279 8c8878 938e78 9b9476 a39a74
aba072 b4a76f bcae6c c4b468 cdbb63 d5c25e dec958 e7d150 f0d846 f9e03a fee838
`;

const STOPS = CIVIDIS.trim()
  .split(/\s+/)
  .map((hex) => [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)));

/** The colour [red, green, blue] of a share of the scale, 0 to 1; shares outside get the nearest end's. */
export function cividis(share) {
  const place = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1);
  const below = Math.min(Math.floor(place), STOPS.length - 2);
  return STOPS[below].map((from, i) => Math.round(from + (STOPS[below + 1][i] - from) * (place - below)));
}

/** Where a value stands between `low` and `high`, 0 to 1; the middle if they are the same. */
export function shareOf(value, low, high) {
  return high > low ? (value - low) / (high - low) : 0.5;
}

/** Relative luminance of a colour (WCAG 2.2), 0 to 1. */
export function luminance(rgb) {
  const [red, green, blue] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black or white, whichever contrasts more with a colour. */
export function inkOn(rgb) {
  return luminance(rgb) > 0.179 ? "#000000" : "#ffffff";
}

/** A colour as CSS writes it. */
export function css(rgb) {
  return `rgb(${rgb.join(" ")})`;
}
