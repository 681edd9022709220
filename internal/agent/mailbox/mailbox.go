// Package mailbox forwards an agent's requests to the API by files, for sandboxes without network: the pull transport.
// The agent keeps all unanswered requests in one file, its outbox, which a worker reads through the sandbox's provider.
// Each response is a separate file. The requests are the same as over a network: batches from the spool with their
// sequences, polls for messages, acknowledgements.
//
// A request may be forwarded more than once. The forwarder may die at any point: the outbox still has all unanswered
// requests, and they are forwarded again.
package mailbox

import (
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
)

// Scheme is the URL scheme of a mailbox.
const Scheme = "file"

const (
	folder  = "post"
	outName = "out.json"
	inName  = "in"
)

const (
	// MaxAsks is the maximum number of requests in an outbox. Further requests wait.
	MaxAsks = 8
	// MaxOutbox is the maximum size of an outbox in bytes.
	MaxOutbox = 24 << 20
	// maxRequests is the maximum size of all requests in an outbox in bytes; base64 adds a third.
	maxRequests = MaxOutbox/4*3 - 64<<10
	// MaxAnswer is the maximum size of a response in bytes: the longest transcript with its header.
	MaxAnswer = 34 << 20
)

// URL returns the API address for an agent whose folder is dir.
func URL(dir string) string { return Scheme + "://" + path.Join(dir, folder) }

// Outbox returns the path of the outbox in an agent's folder.
func Outbox(dir string) string { return path.Join(dir, folder, outName) }

// Answer returns the path of the response to a request. The ID must have passed [Read].
func Answer(dir, id string) string { return path.Join(dir, folder, inName, id) }

// Ask is an unanswered request.
type Ask struct {
	ID string `json:"id"`
	// Request is the HTTP/1.1 request with its body.
	Request []byte `json:"request"`
}

type outbox struct {
	Asks []Ask `json:"asks"`
}

// Read parses an outbox, which is not trusted: content that omoi-agent cannot have written is an error.
func Read(r io.Reader) ([]Ask, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxOutbox+1))
	if err != nil {
		return nil, err
	}
	var out outbox
	if len(text) > MaxOutbox || json.Unmarshal(text, &out) != nil || len(out.Asks) > MaxAsks {
		return nil, errors.New("the outbox is not in the format of omoi-agent")
	}
	for _, ask := range out.Asks {
		if !named(ask.ID) {
			return nil, errors.New("the outbox has a request with an invalid ID")
		}
	}
	return out.Asks, nil
}

// named reports whether an ID has the format of [Transport], so that it is a safe file name.
func named(id string) bool {
	const length = 26
	return len(id) == length && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
