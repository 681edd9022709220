package bridge

import (
	"context"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/openhands"
)

// discardWait is the time for a server to delete a conversation.
const discardWait = time.Minute

// Discard deletes the conversation of a sandbox from the server that variables of its task name, when the sandbox ends. An own server ends
// with its sandbox. The error names what remains where.
func Discard(ctx context.Context, vars map[string]string, sandbox string) error {
	address, key := openhands.Address(vars)
	if address == "" {
		return nil
	}
	id := openhands.ConversationID(sandbox)
	to, err := openhands.New(address, key)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, discardWait)
		defer cancel()
		err = to.Discard(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("conversation %s may remain on the OpenHands server %s: %w", id, address, err)
	}
	return nil
}
