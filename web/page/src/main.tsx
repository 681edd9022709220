import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import "./styles.css";
import { OmoiError } from "./lib/api";
import { makeRouter } from "./app";

/** Asks again while the server does not answer; what is shown stays. */
const client = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (_, error) => !(error instanceof OmoiError && error.problem.status < 500),
      retryDelay: (failures) => Math.min(10_000, 300 * 2 ** failures),
      networkMode: "always",
      staleTime: 500,
      refetchOnWindowFocus: true,
    },
    mutations: { networkMode: "always" },
  },
});

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={makeRouter()} />
    </QueryClientProvider>
  </StrictMode>,
);
