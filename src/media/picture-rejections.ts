import { PROBLEM_FORM, type RejectionForm } from '../http/rejection.js';
import { PICTURE_HEADERS } from './picture-headers.js';

/** Rejections below the paths of pictures: problem details with the headers of pictures. */
export const PICTURE_REJECTIONS: RejectionForm = {
  matches: ({ url }) => url.startsWith('/photo/v1/') || url.startsWith('/picture/v1/'),
  write: (rejection, requestId, request) => {
    const problem = PROBLEM_FORM.write(rejection, requestId, request);
    return { ...problem, headers: { ...problem.headers, ...PICTURE_HEADERS } };
  },
};
