/** What the server answers; see hogwild/dashboard/app.py. */

export interface Row {
  name: string;
  env: string;
  state: string;
  steps: number;
  updates: number;
  minutes: number;
  return_mean: number | null;
  return_best: number | null;
  created: string;
  results: number; // evaluations and films
  spark: [number, number][];
}

export interface Metric {
  name: string;
  unit: string;
  meaning: string;
}

export interface Setting {
  group: string;
  name: string;
  value: unknown;
  default: unknown;
}

export interface Evaluation {
  checkpoint: string;
  episodes: number;
  mean: number;
  interval_95: number | null;
  median: number;
  best: number;
  worst: number;
  actions: string;
}

export interface Checkpoint {
  name: string;
  steps: number;
  megabytes: number;
  is_best: boolean;
  evaluations: Evaluation[];
}

export interface Worker {
  rank: number;
  machine?: string;
  state: string;
  pid: number;
  steps: number;
  role: string;
}

export interface Details {
  summary: Row;
  meta: Record<string, any>;
  settings: Setting[];
  workers: Worker[];
  latest: Record<string, number>;
  metrics: Record<string, Metric>;
  checkpoints: Checkpoint[];
  videos: string[];
  log: string;
  imports: string; // the module that its environment is in, where that is not Gymnasium or Atari
  reference: { steps: number[]; low: number[]; middle: number[]; high: number[] } | null;
}

export interface Curve {
  runs: string[];
  metric: string;
  x: number[];
  y: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
}

export interface Finding {
  rule: string;
  step: number;
  what: string;
  advice: string;
}

export interface Visit {
  why: string; // there are no findings
  findings: Finding[];
}

export interface Job {
  number: number;
  run: string;
  kind: string;
  checkpoint: string;
  episodes: number;
  greedy: boolean;
  state: string;
  done: number;
  seconds: number;
  left: number | null;
  result: Record<string, any>;
  error: string;
}

export interface Scene {
  error?: string; // why there is nothing to see
  spectator?: number; // the number of who plays, to tell them what to show
  title: string;
  picture: string | null;
  wide: number;
  numbers: number[] | null;
  stack: string | null;
  stacked: number;
  actions: string[];
  are_numbers: boolean[]; // which actions are numbers, not choices
  probabilities: number[]; // of numbers, their means
  taken: number[]; // 1 for a choice that was taken, else 0; of numbers, what they were
  value: number;
  score: number;
  length: number;
  saliency?: { places: number[][] };
  layers?: { name: string; shape: number[]; picture: string }[];
}

export interface Game {
  env: string;
  actions: string[]; // that a person can take
  shown: string[]; // parts of an action, as an agent thinks of them
  are_numbers: boolean[];
  steps_per_second: number;
  wide: number;
  protocol: string;
  stack: number;
  advised: boolean;
}

export interface Played {
  screens: string[];
  stages: { name: string; picture: string }[];
  stack: { frame: number; picture: string }[];
  numbers: number[] | null;
  reward: number;
  learned: number;
  score: number;
  learned_score: number;
  lives: number | null;
  length: number;
  over: boolean;
  action?: number;
  taken?: number[];
  advice: { probabilities: number[]; value: number } | null;
}
