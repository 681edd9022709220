package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// marker is the key in the namespace's data for the ID of its installation.
const marker = "omoi_installation"

// attributeNames returns the search attributes of omoi, all of type Keyword.
func attributeNames() []string {
	return []string{contract.AttributeStatus, contract.AttributeProject, contract.AttributeOrg}
}

// EnsureSearchAttributes registers missing search attributes, and reports whether they can be used; later tasks then
// carry them. If the server refuses, the log names the command for an operator, and tasks carry none.
func (c *Client) EnsureSearchAttributes(ctx context.Context) bool {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	err := c.registerAttributes(ctx)
	if err != nil {
		c.log.WarnContext(ctx, "register search attributes failed",
			slog.Any("error", err), slog.String("next", c.attributeCommand()))
	}
	c.attributes.Store(err == nil)
	return err == nil
}

func (c *Client) attributeCommand() string {
	var command strings.Builder
	command.WriteString("temporal operator search-attribute create --namespace " + c.cfg.Namespace)
	for _, name := range attributeNames() {
		command.WriteString(" --name " + name + " --type Keyword")
	}
	return command.String()
}

func (c *Client) registerAttributes(ctx context.Context) error {
	found, err := c.sdk.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: c.cfg.Namespace})
	if err != nil {
		return fmt.Errorf("list search attributes: %w", err)
	}
	missing := map[string]enums.IndexedValueType{}
	for _, name := range attributeNames() {
		known, ok := found.GetCustomAttributes()[name]
		switch {
		case !ok:
			missing[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
		case known != enums.INDEXED_VALUE_TYPE_KEYWORD:
			return fmt.Errorf("search attribute %s has type %s, not Keyword", name, known)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.sdk.OperatorService().AddSearchAttributes(ctx,
		&operatorservice.AddSearchAttributesRequest{Namespace: c.cfg.Namespace, SearchAttributes: missing})
	var exists *serviceerror.AlreadyExists // another process registered it first
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("add search attributes: %w", err)
	}
	return nil
}

// ClaimNamespace writes the installation's ID into the namespace, or checks it. A namespace of another installation is
// [task.CodeConflict]. If the server does not allow the change, omoi uses the namespace without it and logs so.
func (c *Client) ClaimNamespace(ctx context.Context, installation string) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	owner, err := c.namespaceOwner(ctx)
	if err != nil || owner == installation {
		return err
	}
	if owner == "" {
		return c.markNamespace(ctx, installation)
	}
	return c.foreign(owner)
}

func (c *Client) foreign(owner string) error {
	return task.Errorf(task.CodeConflict,
		"The Temporal namespace %s belongs to the omoi installation %s. Next: give each installation its own namespace",
		c.cfg.Namespace, strings.TrimSpace(owner))
}

func (c *Client) namespaceOwner(ctx context.Context) (string, error) {
	found, err := c.sdk.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: c.cfg.Namespace})
	return found.GetNamespaceInfo().GetData()[marker], coded("describe namespace "+c.cfg.Namespace, err)
}

// markNamespace writes the ID and reads it back, so that only one of two concurrent installations succeeds.
func (c *Client) markNamespace(ctx context.Context, installation string) error {
	_, err := c.sdk.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace:  c.cfg.Namespace,
		UpdateInfo: &namespace.UpdateNamespaceInfo{Data: map[string]string{marker: installation}},
	})
	var denied *serviceerror.PermissionDenied
	var missing *serviceerror.Unimplemented
	if errors.As(err, &denied) || errors.As(err, &missing) {
		c.log.WarnContext(ctx, "mark namespace failed, use it for one installation only", slog.Any("error", err))
		return nil
	}
	if err != nil {
		return coded("mark namespace "+c.cfg.Namespace, err)
	}
	owner, err := c.namespaceOwner(ctx)
	if err == nil && owner != installation && owner != "" {
		return c.foreign(owner)
	}
	return err
}
