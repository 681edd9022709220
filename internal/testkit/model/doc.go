// Package model is a model endpoint for tests: it speaks the APIs of Anthropic (Messages), OpenAI (Responses, Chat
// Completions) and Google (Gemini), plays turns that a test has written down, can fail in every way that a real one
// does, and holds what an agent sends against what the test expects. It has no model.
package model
