interface Pages { hasNextPage: boolean; isFetching: boolean; isFetchNextPageError: boolean }

/** Whether the next page of a list may be asked for without a user. One that was refused is asked for when the list is read again. */
export const mayLoadNext = (of: Pages): boolean => of.hasNextPage && !of.isFetching && !of.isFetchNextPageError;
