// Package transcript keeps the transcript of an agent's run at the API while it grows, and
// fetches that of an earlier attempt. Whole lines travel, without secrets, each once: a piece
// names the length and the sum of what came before it, so that it lands behind that or nowhere.
package transcript
