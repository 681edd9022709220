// Package model asks a language model, by Anthropic's API or what speaks it, whether an agent's
// work serves its goal. What the model is shown was written by the agent that is judged: it is
// handed over as data, one JSON object a line, and whatever it asks for is not done. The answer
// is taken only in the form of one tool's input, and checked against that form.
package model
