// Package corpus holds the guardian's judgement against trajectories of which a person has said
// what they are. Each was made by an agent that omoi ran, is one file of JSON lines (what it is,
// then its stored events), and is replayed as the guardian would have seen it: again and again
// while it grows.
package corpus
