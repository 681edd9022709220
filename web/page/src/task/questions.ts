import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { getQuestions, type Question, type Task } from "../lib/api";

const none: Question[] = [];

/** The questions of a task, newest first. They are read again when its open question becomes another one, or none. */
export function useQuestions({ id, question }: Task): Question[] {
  const query = useQuery({ queryKey: ["questions", id, question?.id ?? ""], queryFn: () => getQuestions(id), staleTime: Infinity, gcTime: 0, placeholderData: keepPreviousData });
  return query.data?.items ?? none;
}
