package acp

import (
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// codeNoLogin is the protocol's code of an agent without a login.
const codeNoLogin = -32000

// detail is the part of an error's data that omoi uses.
type detail struct {
	Kind    string `json:"errorKind"` //nolint:tagliatelle // the protocol's name
	Name    string `json:"errorName"` //nolint:tagliatelle // the protocol's name
	Details string `json:"details"`
}

// Parts of the answers to initialize and to the requests that open a session.
type (
	greeting struct {
		Version int `json:"protocolVersion"` //nolint:tagliatelle // the protocol's name
		Agent   struct {
			Version string `json:"version"`
		} `json:"agentInfo"` //nolint:tagliatelle // the protocol's name
		Can struct {
			Load    bool `json:"loadSession"` //nolint:tagliatelle // the protocol's name
			Session struct {
				Resume json.RawMessage `json:"resume"`
			} `json:"sessionCapabilities"` //nolint:tagliatelle // the protocol's name
		} `json:"agentCapabilities"` //nolint:tagliatelle // the protocol's name
		Meta struct {
			Steering struct {
				Supported bool `json:"supported"`
			} `json:"steering"`
		} `json:"_meta"` //nolint:tagliatelle // the protocol's name
	}
	opened struct {
		SessionID string `json:"sessionId"` //nolint:tagliatelle // the protocol's name
		Modes     modes  `json:"modes"`
	}
	modes struct {
		All []mode `json:"availableModes"` //nolint:tagliatelle // the protocol's name
		Now string `json:"currentModeId"`  //nolint:tagliatelle // the protocol's name
	}
	mode struct {
		ID string `json:"id"`
	}
	option struct {
		ID    string          `json:"id"`
		Value json.RawMessage `json:"currentValue"` //nolint:tagliatelle // the protocol's name
	}
)

// modeOf returns the mode that options name; empty: none.
func modeOf(options []option) string {
	for _, o := range options {
		if o.ID == "mode" {
			return jsonrpc.Into[string](o.Value)
		}
	}
	return ""
}

// answer is the end of a turn.
type answer struct {
	Stop  string `json:"stopReason"` //nolint:tagliatelle // the protocol's name
	Usage *usage `json:"usage"`
	Meta  meta   `json:"_meta"` //nolint:tagliatelle // the protocol's name
}

// permission is a request for a permission.
type permission struct {
	Call    json.RawMessage `json:"toolCall"` //nolint:tagliatelle // the protocol's name
	Options []struct {
		ID   string `json:"optionId"` //nolint:tagliatelle // the protocol's name
		Kind string `json:"kind"`
	} `json:"options"`
}

// option returns the first option of one of these kinds, since each agent has IDs of its own. Empty: none.
func (p permission) option(kinds ...string) string {
	for _, kind := range kinds {
		for _, o := range p.Options {
			if o.Kind == kind {
				return o.ID
			}
		}
	}
	return ""
}
