// Package model asks a language model, by Anthropic's Messages API, whether an agent's work serves its goal. The
// analyzed agent wrote the trajectory, so the prompt passes it as data, one JSON object per line, and tells the model
// to follow no instruction in it. Diffs come first. The model answers by one tool call, which is checked against the tool's schema and
// against the trajectory.
package model
