package event

import (
	"encoding/json"
	"math"
	"strconv"
)

// Metered is the model usage that the agent of a sandbox reported.
type Metered struct {
	CostUSD                   float64
	InputTokens, OutputTokens float64
	CostUnknown               bool // CostUSD leaves out a model without a known price
}

// UsageReport holds the usage fields of one event. A value that is not a JSON number counts as absent.
type UsageReport struct {
	Total       json.RawMessage `json:"total_cost_usd"`
	Cost        json.RawMessage `json:"cost_usd"`
	Input       json.RawMessage `json:"input_tokens"`
	Output      json.RawMessage `json:"output_tokens"`
	TotalInput  json.RawMessage `json:"total_input_tokens"` // of total_usage
	TotalOutput json.RawMessage `json:"total_output_tokens"`
	Unknown     bool            `json:"cost_unknown"`
}

// Add counts the report of the next event. An agent reports sums since its start, so the largest value counts. The sum
// of a final event is the bill and replaces earlier estimates. A model without a known price adds no cost and makes the
// cost unknown, as do tokens without a price in a final event.
func (m *Metered) Add(eventType string, r UsageReport) {
	total, priced := number(r.Total)
	cost, alsoPriced := number(r.Cost)
	input, _ := number(r.TotalInput)
	output, _ := number(r.TotalOutput)
	m.CostUnknown = m.CostUnknown || r.Unknown
	if !Is(eventType, Outcome) {
		m.CostUSD, m.InputTokens, m.OutputTokens = max(m.CostUSD, total), max(m.InputTokens, input), max(m.OutputTokens, output)
		return
	}
	in, _ := number(r.Input)
	out, _ := number(r.Output)
	total, input, output = max(total, cost), max(input, in), max(output, out)
	m.CostUnknown = m.CostUnknown || !priced && !alsoPriced && max(input, output) > 0
	bill(&m.CostUSD, total)
	bill(&m.InputTokens, input)
	bill(&m.OutputTokens, output)
}

// bill replaces a sum by that of a final event, if reported.
func bill(sum *float64, last float64) {
	if last > 0 {
		*sum = last
	}
}

// number returns a JSON number between 0 and 1e15, and whether raw is a JSON number; anything else counts as 0.
func number(raw json.RawMessage) (value float64, is bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	value, err := strconv.ParseFloat(string(raw), 64)
	if math.IsInf(value, 0) {
		err = nil // larger than any limit
	}
	return min(max(value, 0), 1e15), err == nil
}
