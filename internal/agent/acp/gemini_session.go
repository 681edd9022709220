package acp

import (
	"encoding/json"
	"slices"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// correctGemini returns a function that removes answers to tool calls which the lines of a session hold twice: with the
// call, and as a message of the user. Gemini CLI sends both when it has loaded a session, but a model expects one
// answer to each call.
func correctGemini() func(line []byte) []byte {
	answered := map[string]bool{}
	return func(line []byte) []byte {
		if repeats(line, answered) {
			return nil
		}
		record := jsonrpc.Into[map[string]json.RawMessage](line)
		set := jsonrpc.Into[map[string]json.RawMessage](record["$set"])
		all := jsonrpc.Into[[]json.RawMessage](set["messages"])
		if len(all) == 0 {
			return line
		}
		clear(answered) // these messages replace all earlier ones
		kept := slices.DeleteFunc(slices.Clone(all), func(m json.RawMessage) bool { return repeats(m, answered) })
		if len(kept) == len(all) {
			return line
		}
		set["messages"], _ = json.Marshal(kept)
		record["$set"], _ = json.Marshal(set)
		corrected, _ := json.Marshal(record)
		return append(corrected, '\n')
	}
}

// repeats reports that a message only repeats answers, and notes the calls that have one.
func repeats(message []byte, answered map[string]bool) bool {
	m := jsonrpc.Into[struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
		Calls   []struct {
			ID     string `json:"id"`
			Result any    `json:"result"`
		} `json:"toolCalls"` //nolint:tagliatelle // as Gemini CLI writes it
	}](message)
	for _, c := range m.Calls {
		answered[c.ID] = answered[c.ID] || c.Result != nil
	}
	type part struct {
		Answer *struct {
			ID string `json:"id"`
		} `json:"functionResponse"` //nolint:tagliatelle // as Gemini CLI writes it
	}
	parts := jsonrpc.Into[[]part](m.Content)
	return m.Type == "user" && len(parts) > 0 && !slices.ContainsFunc(parts, func(p part) bool { return p.Answer == nil || !answered[p.Answer.ID] })
}
