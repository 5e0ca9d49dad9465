/** A small curve without axes. */
export function Spark({ points, label, width = 96, height = 24 }: { points: [number, number][]; label: string; width?: number; height?: number }) {
  if (points.length < 2) return <span class="soft">–</span>;
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const place = ([x, y]: [number, number]) =>
    `${(((x - left) / (right - left || 1)) * (width - 4) + 2).toFixed(1)},${(height - 3 - ((y - low) / (high - low || 1)) * (height - 6)).toFixed(1)}`;
  return (
    <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <polyline points={points.map(place).join(" ")} />
    </svg>
  );
}
