// Package mailbox forwards an agent's requests to the API by files, for sandboxes without network: the pull transport.
// The agent keeps all unanswered requests in one file, its outbox, which a worker reads through the sandbox's provider.
// Each response is a file of its own. The requests are the same as over a network: batches from the spool with their
// sequences, polls for messages, receipts.
//
// A request may be forwarded more than once. The forwarder may die at any point: the outbox still holds all unanswered
// requests, and they are forwarded again.
package mailbox

import (
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
)

// Scheme begins the address of an API that is reached by files.
const Scheme = "file"

const (
	folder  = "post"
	outName = "out.json"
	inName  = "in"
)

const (
	// MaxAsks is how many requests wait in an outbox at most; the others wait for room.
	MaxAsks = 8
	// MaxOutbox bounds what is read of an outbox, in bytes.
	MaxOutbox = 24 << 20
	// maxRequests bounds all requests in an outbox, which holds them in base64.
	maxRequests = MaxOutbox/4*3 - 64<<10
	// MaxAnswer bounds one answer, in bytes: the longest transcript and its head.
	MaxAnswer = 34 << 20
)

// URL is the API's address for an agent whose own folder is dir.
func URL(dir string) string { return Scheme + "://" + path.Join(dir, folder) }

// Outbox is the path of the outbox below an agent's folder.
func Outbox(dir string) string { return path.Join(dir, folder, outName) }

// Answer is the path of the answer to an ask. The id must have passed [Read].
func Answer(dir, id string) string { return path.Join(dir, folder, inName, id) }

// Ask is a request that waits for its answer.
type Ask struct {
	ID string `json:"id"`
	// Request is the HTTP/1.1 request as it would be sent, with its body.
	Request []byte `json:"request"`
}

type outbox struct {
	Asks []Ask `json:"asks"`
}

// Read reads an outbox, which is hostile: what it cannot have from an agent of ours is an error.
func Read(r io.Reader) ([]Ask, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxOutbox+1))
	if err != nil {
		return nil, err
	}
	var out outbox
	if len(text) > MaxOutbox || json.Unmarshal(text, &out) != nil || len(out.Asks) > MaxAsks {
		return nil, errors.New("the outbox does not belong to the agent")
	}
	for _, ask := range out.Asks {
		if !named(ask.ID) {
			return nil, errors.New("the outbox holds a request without a name of ours")
		}
	}
	return out.Asks, nil
}

// named reports whether an id is one that [Transport] makes, and so the name of a file.
func named(id string) bool {
	const length = 26
	return len(id) == length && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
