package task

import "time"

// Takeover says that an attempt uses another credential than the first of its owner and kind, which is rate limited.
type Takeover struct {
	Kind    string    `json:"kind" doc:"Kind of both credentials, for example openai."`
	Scope   string    `json:"scope" enum:"user,project,organization" doc:"Owner of both credentials. More values may be added."`
	Number  int       `json:"number" doc:"Number of the credential that the attempt uses, as omoi credentials list shows it."`
	Limited int       `json:"limited_number" doc:"Number of the first credential, which was rate limited when the attempt began."`
	Until   time.Time `json:"resets_at" doc:"When the cooldown of the first credential was to end."`
}
