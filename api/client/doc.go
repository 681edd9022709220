// Package client is the Go client of the omoi API. The server and the command line use it too.
//
// [New] returns a [Client] of one server; its methods are the routes, and the types of their requests and answers are those of
// api/openapi.json. This program runs a task and waits for its end:
//
//	c := client.New("http://127.0.0.1:18000", os.Getenv("OMOI_API_KEY"))
//	t, _, err := c.CreateTask(ctx, client.CreateTaskRequest{Repo: "owner/name", Title: "Say hello"}, "")
//	for cursor := ""; err == nil; {
//		var page client.TaskEventList
//		page, err = c.Events(ctx, t.ID, cursor, 30*time.Second) // waits for the next events
//		for _, e := range page.Items {
//			fmt.Println(e.Sequence, e.Type)
//		}
//		if page.NextCursor == nil {
//			fmt.Println(page.TaskStatus, err)
//			break
//		}
//		cursor = *page.NextCursor
//	}
//
// The error of a call is an [*Error], whose Code and Kind say what failed; decide by them, never by the text:
//
//	if e, ok := errors.AsType[*client.Error](err); ok && e.Code == client.CodeConflict { ... }
//
// A type without JSON names is not a body: filters become parameters of a URL, and queries and changes, for example
// [TaskQuery] and [TaskChange], are what the server asks of its store.
package client
