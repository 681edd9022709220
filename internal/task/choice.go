package task

import "encoding/json"

// Choice is what a change says of a setting that has a default: nothing, yes, no, or back to the default. In JSON the last
// is null.
type Choice struct {
	Named bool  // else it stays as it is
	To    *bool // nil: the default
}

// Choose names a setting.
func Choose(to bool) Choice { return Choice{Named: true, To: &to} }

// MarshalJSON writes yes, no or null; where nothing is said the field is left out.
func (c Choice) MarshalJSON() ([]byte, error) { return json.Marshal(c.To) }

// UnmarshalJSON is called where the field is there.
func (c *Choice) UnmarshalJSON(raw []byte) error {
	c.Named = true
	return json.Unmarshal(raw, &c.To)
}
